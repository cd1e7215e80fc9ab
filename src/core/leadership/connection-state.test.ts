import { expect, test } from 'vitest';
import { type ConnectionFacts, connectionState, type ConnectionState } from './connection-state.js';

test.each<{ name: string; facts: Partial<ConnectionFacts>; state: ConnectionState }>([
  { name: 'an instance that never led', facts: {}, state: 'NOT_STARTED' },
  { name: 'a leader that hears of its machines', facts: { leads: true, millisSinceHeard: 0 }, state: 'SUBSCRIBED' },
  {
    name: 'a leader whose machines have nothing to say',
    facts: { leads: true, millisSinceHeard: 30_000 },
    state: 'SUBSCRIBED',
  },
  {
    name: 'a leader that lost its machines',
    facts: { leads: true, millisSinceHeard: 30_001 },
    state: 'PAUSED_FOR_RECONNECT',
  },
  { name: 'a leader that waits for its first machine', facts: { leads: true }, state: 'PAUSED_FOR_RECONNECT' },
  {
    name: 'an instance that has just lost the leadership',
    facts: { millisSinceLed: 4_999, millisSinceHeard: 0 },
    state: 'PAUSED_SUBSCRIBED',
  },
  { name: 'five seconds after it was lost', facts: { millisSinceLed: 5_000 }, state: 'STOPPED' },
  { name: 'once it is regained', facts: { leads: true, millisSinceHeard: 10 }, state: 'SUBSCRIBED' },
  { name: 'an instance that was told to stop', facts: { suspended: true, millisSinceLed: 10 }, state: 'STOPPED' },
])('$name is $state', ({ facts, state }) => {
  expect(connectionState({ suspended: false, leads: false, ...facts })).toBe(state);
});
