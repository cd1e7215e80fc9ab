/** One thing wrong with the input. field is a dotted path ("deploy.resources.cpus"), '' for the body as a whole. */
export interface FieldError {
  field: string;
  /** The broken rule, in one word that programs may test: "required", "min", "oneOf". */
  rule: string;
  /** A sentence for people; it names the field. */
  message: string;
}

export const fieldError = (field: string, rule: string, message: string): FieldError => ({ field, rule, message });

/** The answer of a rule that is broken once. */
export const problem = (field: string, rule: string, message: string): FieldError[] => [
  fieldError(field, rule, message),
];
