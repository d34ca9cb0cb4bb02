// The errors of the library.

/** Who caused an error: the caller, a server that Spillgate used, or Spillgate. */
export type Fault = "caller" | "upstream" | "us";

/** An error of Spillgate. */
export class SpillgateError extends Error {
  override name = "SpillgateError";
  /** A short name such as `not_found`. */
  readonly kind: string;
  readonly fault: Fault;
  /** What to do; empty if that is not known. */
  readonly hint: string;

  constructor(message: string, { kind = "failed", fault = "us" as Fault, hint = "", cause = undefined as unknown } = {}) {
    super(hint ? `${message}; ${hint}` : message, { cause });
    this.kind = kind;
    this.fault = fault;
    this.hint = hint;
  }
}

/** The program `spillgate` is not installed. */
export class ProgramNotFound extends SpillgateError {
  override name = "ProgramNotFound";
}
