import { z } from 'zod';

/** What `endpoint.json` in the agent's folder says about a running agent. */
export const Endpoint = z.object({
  pid: z.number().int(),
  /** Start time of the process in clock ticks since boot: tells it from a later one with the same pid. */
  startTime: z.string(),
  host: z.string(),
  port: z.number().int(),
  agentId: z.string(),
  incarnation: z.string(),
});
export type Endpoint = z.infer<typeof Endpoint>;
