// The results of look-ups, as the program prints them (docs/command-line.md).

/** The arguments of the next page by name; null at the end. */
export type Next = Record<string, unknown> | null;

/** A part of the readable text. */
export interface Page {
  text: string;
  lines: [number, number];
  total_lines: number;
  bytes: string;
  next: Next;
}

/** A line that matches. `byte` is where it begins in the readable text. */
export interface Match {
  line: number;
  text: string;
  byte: number;
}

/** Lines that match; `total` counts those of the whole text. */
export interface Matches {
  matches: Match[];
  total: number;
  next: Next;
}

/** Results of a jq filter: `text` has one per line. `total` is null if there are very many. */
export interface Results {
  text: string;
  results: number;
  total: number | null;
  next: Next;
  notes: string[];
  missing: Record<string, unknown> | null;
}

/** A passage that a search found. */
export interface Passage {
  lines: [number, number];
  path: string | null;
  text: string;
  score: number;
}

/** The best passages; `absent` lists identifiers of the question that occur nowhere. */
export interface Passages {
  passages: Passage[];
  total: number;
  absent: string[];
  note: string | null;
  tokens: number;
}

/** The shape of the content: a text, and its lines. */
export interface Outline {
  kind: string;
  lines: unknown[];
  text: string;
}
