import { longestExpression } from '../../core/schedules/index.js';

/** Longest texts of callers, in characters, by what they are. docs/validation.md lists them. */
export const longestText = {
  /** Ids, names, words, keys of maps: what may be a key of an index has to fit. Our ids have narrower limits of their own. */
  name: 500,
  /** Schedules and patterns of a record: they are read again and again. */
  expression: longestExpression,
  /** Pattern that a text is searched for. */
  pattern: 256,
  /** Paths of files and objects: as long as a system takes them. */
  path: 4_096,
  /** Addresses, tokens, secrets. */
  uri: 8_192,
  /** Text that people give with an action. */
  message: 10_000,
  /** Note that people attach to a task. */
  note: 100_000,
  /** Commands, arguments, values of variables: as long as Linux takes one. */
  command: 131_072,
  /** Content of files, which the limit of the whole body bounds before. */
  file: 16_777_216,
} as const;
export type TextKind = keyof typeof longestText;

/** Members of a list of texts or numbers, or of a map. */
export const mostMembers = 10_000;
/** Members of a list of records. To check so many takes a tenth of a second. */
export const mostRecords = 1_000;

/** The last millisecond that both JavaScript and PostgreSQL write with four digits of year. */
export const lastMillis = 253_402_300_799_999;

/** Ten years: what is added to the present time has to be a time as well. */
export const longestSeconds = 10 * 365 * 86_400;
export const longestMillis = longestSeconds * 1_000;
