import { z } from 'zod';
import { isTargetPattern } from '../targets.js';

/*
 * Numbers of settings, each with a least and a greatest value: what is added to the present time has to be a time, and a timer of
 * Node that is set for more than 24 days goes off at once.
 */

const whole = (least: number, most: number) => z.number().int().min(least).max(most);
const real = (most: number) => ({
  least0: () => z.number().min(0).max(most),
  above0: () => z.number().positive().max(most),
});

const tenYearsInDays = 3_650;
export const days = () => whole(0, tenYearsInDays);
export const { least0: hours, above0: hoursAbove0 } = real(tenYearsInDays * 24);
export const { least0: minutes, above0: minutesAbove0 } = real(tenYearsInDays * 24 * 60);
export const { least0: seconds } = real(tenYearsInDays * 86_400);
export const millis = (least = 0) => whole(least, tenYearsInDays * 86_400_000);
/** Longest wait for an answer: a day at most. */
export const timeout = (leastMillis = 0) => whole(leastMillis, 86_400_000);
export const { above0: timeoutSeconds } = real(86_400);

export const count = (least = 0, most = 1_000_000_000) => whole(least, most);
/** Cores, MB, weights, factors. */
export const { least0: amount, above0: amountAbove0 } = real(1_000_000_000_000);
/** Days, or a number of things, up to which something is kept; below 1: no limit. */
export const keptDays = () => whole(-1_000_000_000, 36_500);
export const keptCount = () => whole(-1_000_000_000, 1_000_000_000);

/** Path of a directory, without a slash at its end. */
export const directoryPath = () =>
  z
    .string()
    .max(4_096)
    .regex(/^\/[^\0]*[^/\0]$/, 'must be an absolute path');

/** Hosts that may be asked. */
export const targetList = () =>
  z.array(
    z
      .string()
      .refine(isTargetPattern, 'must be an address, a range of addresses (10.0.0.0/8) or a name (*.example.com)'),
  );
