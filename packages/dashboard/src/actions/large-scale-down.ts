/** What the service wants to be told twice. */
export const isLargeScaleDown = (from: number, to: number): boolean => to < from && (to < from / 2 || from - to > 10);
