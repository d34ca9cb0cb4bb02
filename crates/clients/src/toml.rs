//! TOML: parsing, and editing in place.

use serde_json::{Map, Number, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, RawString, TableLike, Value as Toml};

use crate::document::{Change, Edit, Front, Trouble};

pub(crate) fn parse(text: &str) -> Result<Value, Trouble> {
    Ok(from_table(read(text)?.as_table()))
}

fn read(text: &str) -> Result<DocumentMut, Trouble> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let at = error.span().map_or(0, |span| span.start);
        Trouble::Malformed {
            line: text[..at.min(text.len())].matches('\n').count() + 1,
            message: error.message().to_owned(),
        }
    })
}

fn from_table(table: &dyn TableLike) -> Value {
    let members = table
        .iter()
        .map(|(key, item)| (key.to_owned(), from_item(item)));
    Value::Object(members.collect::<Map<_, _>>())
}

fn from_item(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => from_toml(value),
        Item::Table(table) => from_table(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| from_table(table)).collect(),
    }
}

fn from_toml(value: &Toml) -> Value {
    match value {
        Toml::String(text) => Value::from(text.value().as_str()),
        Toml::Integer(number) => Value::from(*number.value()),
        Toml::Float(number) => {
            let text = number.value().to_string();
            Number::from_f64(*number.value()).map_or(Value::from(text), Value::Number)
        }
        Toml::Boolean(value) => Value::from(*value.value()),
        Toml::Datetime(time) => Value::from(time.value().to_string()),
        Toml::Array(elements) => elements.iter().map(from_toml).collect(),
        Toml::InlineTable(table) => from_table(table),
    }
}

fn to_toml(value: &Value) -> Option<Toml> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(value) => Toml::from(*value),
        Value::Number(number) => match number.as_i64() {
            Some(number) => Toml::from(number),
            None => Toml::from(number.as_f64()?),
        },
        Value::String(text) => Toml::from(text.as_str()),
        Value::Array(elements) => {
            Toml::Array(elements.iter().map(to_toml).collect::<Option<Array>>()?)
        }
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(key, value)| Some((key.as_str(), to_toml(value)?)));
            Toml::InlineTable(members.collect::<Option<InlineTable>>()?)
        }
    })
}

pub(crate) fn edit(text: &str, edits: &[Edit]) -> Result<String, Trouble> {
    let mut document = read(text)?;
    if document.to_string() != text {
        return Err(Trouble::form(
            "the TOML library cannot reproduce it exactly",
        ));
    }
    for edit in edits {
        let mut item = document.as_item_mut();
        for key in &edit.at {
            item = item
                .as_table_like_mut()
                .and_then(|table| table.get_mut(key))
                .filter(|item| item.is_table_like())
                .ok_or_else(|| Trouble::form(format!("`{key}` is no table")))?;
        }
        edit_table(item, &edit.changes)?;
    }
    Ok(document.to_string())
}

fn edit_table(item: &mut Item, changes: &[Change]) -> Result<(), Trouble> {
    let table = item.as_table_like_mut().expect("invariant: it is a table");
    let mut order: Vec<String> = table.iter().map(|(key, _)| key.to_owned()).collect();
    let place = |order: &[String], field: &str| order.iter().position(|key| key == field);
    let goes = |change: &&Change| change.to.is_none() && table.contains_key(&change.field);
    let gone: Vec<&Change> = changes.iter().filter(goes).collect();
    let mut next = gone
        .first()
        .and_then(|change| place(&order, &change.field))
        .unwrap_or(order.len());
    let mut new = None;
    for change in changes {
        let Some(value) = &change.to else { continue };
        let value =
            to_toml(value).ok_or_else(|| Trouble::form("a value cannot be written in TOML"))?;
        if let Some(at) = place(&order, &change.field) {
            let had = table.get_mut(&change.field);
            set(had.expect("invariant: it was listed"), value);
            next = at + 1;
        } else {
            table.insert(&change.field, Item::Value(value));
            order.insert(next, change.field.clone());
            new.get_or_insert(&change.field);
            next += 1;
        }
    }
    let moved = new.is_some() || !gone.is_empty();
    for change in gone {
        let above = table
            .key(&change.field)
            .and_then(|key| key.leaf_decor().prefix().cloned());
        table.remove(&change.field);
        // A comment above the removed field moves to the field that replaces it.
        let commented = above.filter(has_comment);
        if let Some((above, mut key)) = commented.zip(new.and_then(|new| table.key_mut(new))) {
            key.leaf_decor_mut().set_prefix(above);
            new = None;
        }
    }
    if moved {
        sort(item, |key| place(&order, key));
    }
    Ok(())
}

fn has_comment(above: &RawString) -> bool {
    above.as_str().is_some_and(|text| text.contains('#'))
}

fn set(item: &mut Item, value: Toml) {
    if let (Some(array), Toml::Array(new)) = (item.as_array_mut(), &value)
        && edit_front(array, new)
    {
        return;
    }
    match item.as_value_mut() {
        Some(had) => {
            let decor = had.decor().clone();
            *had = value;
            *had.decor_mut() = decor;
        }
        None => *item = Item::Value(value),
    }
}

/// Edits the first elements of the list. Returns `false` if the change affects other elements, too.
fn edit_front(array: &mut Array, new: &Array) -> bool {
    let values = |array: &Array| array.iter().map(from_toml).collect::<Vec<Value>>();
    let (had, new) = (values(array), values(new));
    let decor = array.get(0).map(|first| first.decor().clone());
    match Front::of(&had, &new) {
        Some(Front::Added(added)) => add_front(array, added),
        Some(Front::Gone(count)) => {
            for _ in 0..count {
                array.remove(0);
            }
            // If the list is on one line, the new first element takes the position of the old one.
            // If each element has its own line, each element keeps the comments above it.
            let first = array.get_mut(0).zip(decor);
            if let Some((first, decor)) = first.filter(|(first, _)| on_its_line(first)) {
                *first.decor_mut() = decor;
            }
            true
        }
        None => false,
    }
}

/// Returns whether the value is on the same line as the element or bracket before it.
fn on_its_line(value: &Toml) -> bool {
    let before = value.decor().prefix().and_then(RawString::as_str);
    before.is_none_or(|before| !before.contains('\n'))
}

fn add_front(array: &mut Array, added: &[Value]) -> bool {
    let Some(decor) = array.get(0).map(|first| first.decor().clone()) else {
        return false;
    };
    let before = decor.prefix().and_then(RawString::as_str);
    // If the list is on one line, the first element follows the bracket directly. Otherwise each
    // element has its own line, and a comment above the first element stays there.
    let (first, other) = match before.map(|text| text.rsplit_once('\n')) {
        Some(Some((_, indent))) => (format!("\n{indent}"), format!("\n{indent}")),
        _ => (before.unwrap_or_default().to_owned(), " ".to_owned()),
    };
    for (index, value) in added.iter().enumerate() {
        let Some(value) = to_toml(value) else {
            return false;
        };
        let before = if index == 0 { &first } else { &other };
        array.insert_formatted(index, value.decorated(before.as_str(), ""));
    }
    if let Some(had) = array.get_mut(added.len()).filter(|_| first != other) {
        had.decor_mut().set_prefix(other);
    }
    true
}

/// Sorts fields. Sub-tables with their own headers stay after the table that contains them.
fn sort(item: &mut Item, place: impl Fn(&str) -> Option<usize>) {
    match item {
        Item::Table(table) => {
            table.sort_values_by(|left, _, right, _| place(left).cmp(&place(right)));
        }
        Item::Value(Toml::InlineTable(table)) => {
            table.sort_values_by(|left, _, right, _| place(left).cmp(&place(right)));
            table.fmt();
        }
        _ => {}
    }
}
