/** One thing wrong with the input. field is a dotted path ("deploy.resources.cpus"), '' for the body as a whole. */
export interface FieldError {
  field: string;
  /** The broken rule, in one word that programs may test: "required", "min", "oneOf". */
  rule: string;
  /** A sentence for people; it names the field. */
  message: string;
}

export const fieldError = (field: string, rule: string, message: string): FieldError => ({ field, rule, message });

/** The error of a member, told by its path from a record around it, which ends with a point or is empty. */
export const errorBelow = (path: string, error: FieldError): FieldError =>
  path === '' ? error : { ...error, field: path + error.field, message: path + error.message };

/** A member that is for some kinds of a record only, or that some need. */
export interface KindMember<Member extends string, Kind extends string> {
  member: Member;
  for: readonly Kind[];
  requiredFor?: readonly Kind[];
}

/** Members that are given or missing against their kinds. `word`: the member that says the kind, which is the rule as well. */
export function kindProblems<Member extends string, Kind extends string>(
  record: Readonly<Partial<Record<Member, unknown>>>,
  path: string,
  { word, kind }: { word: string; kind: Kind },
  members: readonly KindMember<Member, Kind>[],
): FieldError[] {
  return members.flatMap(({ member, for: kinds, requiredFor = [] }) => {
    const field = `${path}.${member}`;
    const isGiven = record[member] !== undefined;
    if (isGiven && !kinds.includes(kind)) return problem(field, word, `${field} may not be given for ${word} ${kind}`);
    return !isGiven && requiredFor.includes(kind)
      ? problem(field, 'required', `${field} is required for ${word} ${kind}`)
      : [];
  });
}

/** The answer of a rule that is broken once. */
export const problem = (field: string, rule: string, message: string): FieldError[] => [
  fieldError(field, rule, message),
];
