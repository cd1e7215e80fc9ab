/** Members without a value are left out, in answers as in the database. */
export const withoutNulls = (_name: string, value: unknown): unknown => (value === null ? undefined : value);

export const toJson = (value: unknown): string => JSON.stringify(value, withoutNulls);
