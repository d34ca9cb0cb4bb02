//! Which passages of a stored text answer a question?
