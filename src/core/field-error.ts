/** One thing wrong with the input. field is a dotted path ("deploy.resources.cpus"), '' for the body as a whole. */
export interface FieldError {
  field: string;
  /** The broken rule, in one word that programs may test: "required", "min", "oneOf". */
  rule: string;
  /** A sentence for people; it names the field. */
  message: string;
}
