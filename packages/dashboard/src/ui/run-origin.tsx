import { FlowLink } from './links';
import { inWords } from './words';

export interface Origin {
  readonly trigger?: string | undefined;
  readonly attempt?: number | undefined;
  readonly flowId?: string | undefined;
}

/** Why there is a run, which of its tries this is, and the flow that it is in. */
export const originText = ({ trigger, attempt }: Origin): string =>
  [trigger !== undefined && inWords(trigger), attempt !== undefined && attempt > 1 && `try ${attempt}`]
    .filter(Boolean)
    .join(', ');

export const RunOrigin = (origin: Origin) => (
  <>
    {originText(origin)} {origin.flowId !== undefined && <FlowLink id={origin.flowId} />}
  </>
);
