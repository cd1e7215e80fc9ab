/** Members of a request that say when it runs: those of a preview. */
export const timingMembers = [
  'schedule',
  'quartzSchedule',
  'scheduleType',
  'scheduleTimeZone',
  'schedules',
  'scheduleJitterMillis',
  'startAt',
  'endAt',
  'exclusions',
  'overlapPolicy',
  'missedRuns',
  'maxRuns',
  'instances',
] as const;

export const membersOf = <Name extends string>(of: Readonly<Partial<Record<Name, unknown>>>, names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, of[name]]));
