import { CliError } from '../exit-codes.js';
import { stateCell } from '../output/output.js';
import { remote } from '../remote/session.js';
import { type Define, examples } from '../run.js';

/** Answers to the gates of deploys. */
export const gates: Record<string, Define> = {
  approve: (command, run) => answerGate('approve', command, run),
  reject: (command, run) => answerGate('reject', command, run),
};

interface Flags {
  message?: string;
}

function answerGate(name: 'approve' | 'reject', ...[command, run]: Parameters<Define>): void {
  command.argument('<request>').option('-m, --message <text>', 'reason, kept with the gate');
  examples(command, 'muster explain web', `muster ${name} web -m "${name === 'approve' ? 'looks good' : 'too slow'}"`);
  remote<Flags, [string]>(command, run, async ({ api, out }, { message }, requestId) => {
    const { waitingGate } = await api.requests.explain({ requestId });
    if (!waitingGate) throw new CliError('conflict', `${requestId}: no deploy of it waits for a gate`);
    // Named as it was seen: another gate that is open by then is not meant.
    const { deployId, step, gate } = waitingGate;
    const body = { step, gate, ...(message !== undefined && { message }) };
    const answer = await api.deploys[name]({ requestId, deployId, body });
    await out.answer(answer, () =>
      out.text(`${requestId} ${deployId}: gate ${gate} after step ${step} is ${stateCell(answer.state).text}`),
    );
  });
}
