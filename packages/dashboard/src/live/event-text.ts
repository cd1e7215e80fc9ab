import type { Event } from 'muster-client';
import { counted, inWords, type Tone, whyTask, wordOf } from '../ui/words';

export interface EventText {
  readonly text: string;
  readonly tone: Tone;
}

/** What an event says, in a sentence, and how good or bad that is. */
export function textOf(event: Event): EventText {
  const because = event.message === undefined ? '' : `: ${event.message}`;
  switch (event.type) {
    case 'REQUEST':
      return { text: `${inWords(event.eventType ?? '')}${because}`, tone: 'off' };
    case 'DEPLOY': {
      if (event.deployState !== undefined) {
        const { text, tone } = wordOf('deploy', event.deployState);
        return { text: `deploy ${event.deployId} ${text.toLowerCase()}${because}`, tone };
      }
      if (event.gateState !== undefined) {
        const { text, tone } = wordOf('gate', event.gateState);
        const place = `deploy ${event.deployId} gate ${event.gate} of step ${event.step}`;
        return { text: `${place} ${text.toLowerCase()}${because}`, tone };
      }
      return {
        text: `deploy ${event.deployId} ${event.eventType === 'STEP' ? 'goes on' : 'begins'}${because}`,
        tone: 'busy',
      };
    }
    case 'PENDING': {
      const count = counted(event.tasks ?? 0, 'task');
      if (event.eventType === 'WAITING') return { text: `${count} not placed${because}`, tone: 'warn' };
      return { text: `${count} ${inWords(event.eventType ?? '')}`, tone: 'off' };
    }
    case 'TASK': {
      const { taskState = '', message: statusMessage, reason: statusReason } = event;
      const { text, tone } = wordOf('task', taskState);
      const why = whyTask({ taskState, statusMessage, statusReason });
      return { text: why === text ? text.toLowerCase() : `${text.toLowerCase()}: ${why}`, tone };
    }
    case 'HEALTH':
      if (event.eventType === 'LEAVING') return { text: `gets no more calls${because}`, tone: 'off' };
      if (event.eventType === 'UNHEALTHY') return { text: `unhealthy${because}`, tone: 'bad' };
      return { text: event.eventType === 'RECOVERED' ? 'healthy again' : 'healthy', tone: 'good' };
    case 'CRASHLOOP': {
      const kind = inWords(event.crashLoopType ?? '');
      return event.end === undefined
        ? { text: `crash loop: ${kind}`, tone: 'bad' }
        : { text: `crash loop is over: ${kind}`, tone: 'good' };
    }
    case 'SLAVE':
    case 'RACK': {
      const what = event.type === 'SLAVE' ? 'machine' : 'rack';
      if (event.state === undefined) return { text: `${what} removed${because}`, tone: 'off' };
      const { text, tone } = wordOf('machine', event.state);
      return { text: `${what} ${text.toLowerCase()}${because}`, tone };
    }
    case 'DISASTER': {
      const kind = inWords(event.disaster ?? '');
      return event.active
        ? { text: `disaster: ${kind}`, tone: 'bad' }
        : { text: `disaster is over: ${kind}`, tone: 'good' };
    }
    default:
      return { text: inWords(String((event as { type: string }).type)), tone: 'unknown' };
  }
}
