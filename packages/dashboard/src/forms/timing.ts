/** Members of a request that say at which times it runs, and all that say when it does: those of a preview. */
export const timetableMembers = [
  'schedule',
  'quartzSchedule',
  'scheduleType',
  'scheduleTimeZone',
  'schedules',
  'scheduleJitterMillis',
  'startAt',
  'endAt',
  'exclusions',
] as const;
export const timingMembers = [...timetableMembers, 'overlapPolicy', 'missedRuns', 'maxRuns', 'instances'] as const;

export const membersOf = <Name extends string>(of: Readonly<Partial<Record<Name, unknown>>>, names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, of[name]]));
