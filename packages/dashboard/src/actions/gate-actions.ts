import type { GateResult } from 'muster-client';
import { muster } from '../api';
import { message, type Action } from './action';

/** Answer to an open gate of a deploy. */
export function answerGate(requestId: string, deployId: string, { step, gate }: GateResult, approves: boolean): Action {
  const label = approves ? 'Approve' : 'Reject';
  return {
    id: `${approves ? 'approve' : 'reject'}-gate`,
    label,
    explains: approves
      ? `Passes gate ${gate} after step ${step}: deploy ${deployId} of ${requestId} goes on.`
      : `Fails gate ${gate} after step ${step}: deploy ${deployId} of ${requestId} is rolled back.`,
    isDangerous: !approves,
    needs: { requestId, scope: 'APPROVE' },
    fields: [message],
    run: (values) => {
      const answer = { requestId, deployId, body: { step, gate, message: values.text('message') } };
      return approves ? muster.deploys.approve(answer) : muster.deploys.reject(answer);
    },
    done: `Gate ${gate} after step ${step} is ${approves ? 'approved' : 'rejected'}`,
    outdates: [['request', requestId], ['deploys'], ['troubles']],
  };
}
