import { duration, type MailDocument, type MailStyle, oneLine } from './document.js';
import type { MailFacts } from './mail-types.js';

type DisasterFacts = Extract<MailFacts, { kind: 'disaster' }>;
type AbortFacts = Extract<MailFacts, { kind: 'aborting' }>;

export function disasterDocument({ disasters, points }: DisasterFacts, colour: string, style: MailStyle): MailDocument {
  const active = disasters.filter((disaster) => disaster.active).map(({ type }) => type);
  return {
    subject: oneLine(`Disaster: ${active.join(', ')} – ${style.product}`),
    title: oneLine(`Disaster: ${active.join(', ')}`),
    colour,
    blocks: [
      { kind: 'paragraph', pieces: ['The figures of the cluster, or an operator, say that there is a disaster.'] },
      {
        kind: 'table',
        title: 'Disasters',
        head: ['Type', 'Active'],
        rows: disasters.map((disaster) => [disaster.type, disaster.active ? 'yes' : 'no']),
      },
      {
        kind: 'table',
        title: 'Recent figures',
        head: ['Time', 'Tasks: active', 'pending', 'late', 'lost', 'Average lag', 'Lost slaves'],
        rows: points.map((point) => [
          style.time(point.timestamp),
          String(point.numActiveTasks),
          String(point.numPendingTasks),
          String(point.numLateTasks),
          String(point.numLostTasks),
          duration(point.avgTaskLagMillis),
          String(point.numLostSlaves),
        ]),
      },
    ],
  };
}

export function abortDocument({ host, reason, stack }: AbortFacts, colour: string, style: MailStyle): MailDocument {
  return {
    subject: oneLine(`${host} gave up leading: ${reason} – ${style.product}`),
    title: oneLine(`${host} gave up leading`),
    colour,
    blocks: [
      {
        kind: 'paragraph',
        pieces: ['This instance does not lead any more. Another one takes over, or the same one again.'],
      },
      {
        kind: 'facts',
        rows: [
          ['Host', oneLine(host)],
          ['Reason', oneLine(reason, 1_000)],
        ],
      },
      { kind: 'file', name: 'Error', text: stack, note: stack === undefined ? 'there is none' : 'with its trace' },
    ],
  };
}
