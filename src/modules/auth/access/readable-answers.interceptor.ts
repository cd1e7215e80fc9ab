import { Inject, Injectable, StreamableFile, type ExecutionContext } from '@nestjs/common';
import { maskSecrets, type User } from '../../../core/authorization/index.js';
import { DisabledActions } from '../../../platform/actions/disabled-actions.js';
import { ListPage } from '../../../platform/database/keyset.js';
import { Around, type Steps } from '../../../platform/http/around.js';
import { userOf } from '../../../platform/http/caller.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import type { CheckedRequest } from './access.guard.js';
import { Access } from './access.service.js';
import type { Need } from './needs.js';

/** Takes out of an answer what its caller may not see: entries of lists, and secrets of requests they cannot write. */
@Injectable()
export class ReadableAnswers extends Around {
  constructor(
    private readonly access: Access,
    private readonly actions: DisabledActions,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    super();
  }

  begin(context: ExecutionContext): Steps | undefined | Promise<Steps> {
    const request = context.switchToHttp().getRequest<CheckedRequest>();
    const { need } = request;
    const user = userOf(request);
    if (!need || this.access.isAdmin(user)) return undefined;
    const steps: Steps = { after: (answer) => this.select(need, request, user, answer) };
    if (need.kind !== 'list' || !need.expensive) return steps;
    return this.actions.isDisabled('EXPENSIVE_API_CALLS').then((isDisabled) => (isDisabled ? { answer: [] } : steps));
  }

  private async select(need: Need, request: CheckedRequest, user: User, answer: unknown): Promise<unknown> {
    if (answer === undefined || answer === null || typeof answer !== 'object') return answer;
    if (answer instanceof StreamableFile) return answer;
    if (answer instanceof ListPage) {
      const members = await this.select(need, request, user, answer.members);
      return new ListPage(members as unknown[], answer.next);
    }
    if (need.kind !== 'list') return request.allowed?.writes === false ? this.masked(answer) : answer;
    const { shape } = need;
    const { readable, writable } = await this.access.sort(user, shape.requestIds(answer));
    return shape.select(answer, readable, (id, part) => (writable(id) ? part : this.masked(part)), request);
  }

  private masked(part: unknown): unknown {
    return maskSecrets(part, this.settings.auth);
  }
}
