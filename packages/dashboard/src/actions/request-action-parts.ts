import type { RequestParent } from 'muster-client';
import type { Field, Values } from './action';

export const skipHealthchecks: Field = {
  kind: 'check',
  name: 'skipHealthchecks',
  label: 'Skip health checks',
  initial: false,
};
export const how: Field = {
  kind: 'choice',
  name: 'how',
  label: 'How',
  initial: 'incremental',
  choices: [
    ['incremental', 'One after the other'],
    ['all', 'All at once'],
  ],
};

export const timed = (values: Values) => ({
  message: values.text('message'),
  durationMillis: values.number('durationMillis'),
});

/** What all actions on one request have. */
export const ofRequest = (parent: RequestParent) => {
  const requestId = parent.request.id;
  const needs = { requestId, scope: 'WRITE' } as const;
  return { requestId, needs, outdates: [['request', requestId], ['troubles'], ['tasks']] };
};
