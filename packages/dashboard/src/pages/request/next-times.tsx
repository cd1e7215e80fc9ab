import type { SchedulePreview } from 'muster-client';
import { muster } from '../../api';
import { useAnswer, type Answer } from '../../forms/answer';
import type { Document } from '../../forms/document';
import { membersOf, timingMembers } from '../../forms/timing';
import { Mark } from '../../ui/badge';
import { Failure, Loading } from '../../ui/read';
import { useExactTime } from '../../ui/time';

export const hasSchedule = (document: Document): boolean =>
  ['schedule', 'quartzSchedule', 'schedules'].some((name) => document[name] !== undefined && document[name] !== '');

/**
 * The times of a request that is being written; nothing, while it has no schedule. `begin`: as it was before; a Quartz schedule that was
 * made of the former schedule does not count for another one.
 */
export const useNextTimes = (document: Document, begin: Document): Answer<SchedulePreview | null> =>
  useAnswer(document, async () => {
    if (document['requestType'] !== 'SCHEDULED' || !hasSchedule(document)) return null;
    const isFormer =
      document['schedule'] !== undefined &&
      document['schedule'] !== begin['schedule'] &&
      document['quartzSchedule'] === begin['quartzSchedule'];
    const members = membersOf(document, timingMembers);
    const id = document['id'] === '' ? undefined : document['id'];
    return muster.requests.previewSchedule({
      body: { ...members, id, ...(isFormer && { quartzSchedule: undefined }) } as never,
    });
  });

const ends: Readonly<Record<SchedulePreview['end'], string>> = {
  COUNT: '',
  MAX_RUNS: 'Then it has had its most runs.',
  END_AT: 'Then its schedule ends.',
  NO_FURTHER_TIME: 'There is no further time.',
};

/** When a request would run, beside the form in which it is written. */
export function NextTimes({ of: { value, failure } }: { of: Answer<SchedulePreview | null> }) {
  return (
    <aside className="plan" aria-label="Next runs" aria-live="polite">
      <h2>Next runs</h2>
      {failure !== undefined && <Failure cause={failure} />}
      {failure === undefined && value === undefined && <Loading />}
      {value === null && <p className="faint">Write a schedule to see its times.</p>}
      {value && (
        <>
          {value.quartzSchedule !== undefined && (
            <p className="faint">
              In Quartz: <code>{value.quartzSchedule}</code>
            </p>
          )}
          <ol>
            {value.times.map((time) => (
              <NextTime key={time.at} time={time} />
            ))}
          </ol>
          {value.times.length === 0 && <p>No run.</p>}
          {ends[value.end] !== '' && <p className="faint">{ends[value.end]}</p>}
        </>
      )}
    </aside>
  );
}

/** By the clock: an age would be read out again each time that it changes. */
function NextTime({ time: { at, local, timeZone, skipped, message } }: { time: SchedulePreview['times'][number] }) {
  return (
    <li>
      {useExactTime(at)}{' '}
      <span className="faint">
        {local} {timeZone}
      </span>{' '}
      {skipped !== undefined && (
        <>
          <Mark tone="off">no run</Mark> <span className="faint">{message}</span>
        </>
      )}
    </li>
  );
}
