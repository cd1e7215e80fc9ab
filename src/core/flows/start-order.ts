import { isRunnable, type RequestState } from '../model/enums.js';
import { instancesOf, type Request } from '../model/request.js';

/** A service or worker, and the number of its tasks that do their work. */
export interface InService {
  request: Request;
  state: RequestState;
  tasks: number;
}

/**
 * What the first start of a request waits for, in words: those that it starts after and that are not in service with all their
 * instances. undefined: it may start, as it also may while one of its tasks is in service. `named`: the requests of startAfter by id;
 * one that is gone is not waited for.
 */
export function startWait(own: InService, named: ReadonlyMap<string, InService>): string | undefined {
  if (own.tasks > 0) return undefined;
  const waits = (own.request.startAfter ?? []).flatMap((id) => {
    const other = named.get(id);
    const problem = other && whyNot(other);
    return problem === undefined ? [] : `'${id}' ${problem}`;
  });
  return waits.length > 0 ? waits.join(', ') : undefined;
}

function whyNot({ request, state, tasks }: InService): string | undefined {
  if (!isRunnable(state)) return `is ${state}`;
  const instances = instancesOf(request);
  return tasks < instances ? `has ${tasks} of ${instances} instances in service` : undefined;
}
