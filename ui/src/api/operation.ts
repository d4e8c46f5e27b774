/** A GraphQL document with the types of its variables and result. */
export class Operation<Result, Variables> {
  readonly text: string;
  /** Exists only at compile time, to carry the types. */
  declare readonly types: (variables: Variables) => Result;

  constructor(text: string) {
    this.text = text;
  }
}
