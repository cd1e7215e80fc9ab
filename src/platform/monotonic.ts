/** Of the machine's monotonic clock, which all threads of a process read alike: `performance.now()` begins anew in each. */
export const monotonicMillis = (): number => Number(process.hrtime.bigint()) / 1e6;
