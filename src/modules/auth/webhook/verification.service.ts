import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { Agent, fetch } from 'undici';
import type { User } from '../../../core/authorization/index.js';
import { Clock } from '../../../platform/clock.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { RecentAnswers } from '../recent-answers.js';
import { z } from 'zod';

const keptAtMost = 1_000;

/** Ids of its users are told apart from those of others. */
const issuer = 'WEBHOOK';

/** Refused: the service has answered that it knows no such user. Unreachable: it has not answered. */
type Outcome = { user: User } | { refused: string } | { unreachable: string };

/** Asks another service which user an Authorization header belongs to. */
@Injectable()
export class VerificationService implements OnApplicationShutdown {
  private readonly log = new Logger(VerificationService.name);
  private readonly answers = new RecentAnswers<User>(keptAtMost);
  private readonly refreshing = new Set<string>();
  private readonly connections: Agent;

  constructor(
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.connections = new Agent({ connect: { timeout: settings.auth.webhookAuthConnectTimeoutMs } });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.connections.destroy();
  }

  get configured(): boolean {
    return this.settings.webhookAuth.authVerificationUrl !== '';
  }

  /**
   * The user, or why there is none. What was answered before is served while it is asked for again, but not longer than the
   * settings allow. `wary`: what was not answered before is not asked for.
   */
  async verify(authorization: string, wary = false): Promise<User | string> {
    const { cacheValidationMs, cacheExpireMs } = this.settings.webhookAuth;
    const key = createHash('sha256').update(authorization).digest('hex');
    const known = this.answers.get(key);
    const age = known && this.clock.now() - known.at;
    if (!known || age! >= Math.max(cacheExpireMs, cacheValidationMs)) {
      return wary && !known ? 'the verification service was not asked' : this.ask(key, authorization);
    }
    if (age! >= cacheValidationMs) this.refresh(key, authorization);
    return known.answer;
  }

  private async ask(key: string, authorization: string): Promise<User | string> {
    const outcome = await this.request(authorization);
    if ('user' in outcome) {
      this.answers.put(key, outcome.user, this.clock.now());
      return outcome.user;
    }
    if ('refused' in outcome) this.answers.remove(key);
    return 'refused' in outcome ? outcome.refused : outcome.unreachable;
  }

  /** A service that cannot be reached takes nothing back; one that refuses does. */
  private refresh(key: string, authorization: string): void {
    if (this.refreshing.has(key)) return;
    this.refreshing.add(key);
    void this.request(authorization)
      .then((outcome) => {
        if ('user' in outcome) this.answers.put(key, outcome.user, this.clock.now());
        else if ('refused' in outcome) this.answers.remove(key);
        else
          this.log.warn(
            `The authentication webhook does not answer, and an earlier answer is used: ${outcome.unreachable}`,
          );
      })
      .finally(() => this.refreshing.delete(key));
  }

  private async request(authorization: string): Promise<Outcome> {
    let outcome: Outcome = { unreachable: 'the verification service was not asked' };
    for (let left = this.settings.auth.webhookAuthRetries; left >= 0; left--) {
      outcome = await this.requestOnce(authorization);
      if (!('unreachable' in outcome)) break;
    }
    return outcome;
  }

  private async requestOnce(authorization: string): Promise<Outcome> {
    const { webhookAuthRequestTimeoutMs, authResponseParser, defaultEmailDomain } = this.settings.auth;
    try {
      const answer = await fetch(this.settings.webhookAuth.authVerificationUrl, {
        headers: { authorization, accept: 'application/json' },
        signal: AbortSignal.timeout(webhookAuthRequestTimeoutMs),
        dispatcher: this.connections,
        redirect: 'error',
      });
      const text = await answer.text();
      if (answer.status >= 500) return { unreachable: `the verification service answered ${answer.status}` };
      if (answer.status > 299) return { refused: `the verification service answered ${answer.status}` };
      const user = readUser(text, { parser: authResponseParser, defaultEmailDomain });
      return typeof user === 'string' ? { refused: user } : { user: { ...user, issuer } };
    } catch {
      return { unreachable: 'the verification service cannot be reached' };
    }
  }
}

interface AnswerForm {
  parser: 'WRAPPED' | 'RAW';
  /** Domain of the e-mail addresses of RAW users. */
  defaultEmailDomain?: string;
}

const names = z.array(z.string()).nullish();
const Wrapped = z.object({
  user: z
    .object({
      id: z.string().min(1),
      name: z.string().nullish(),
      email: z.string().nullish(),
      groups: names,
      scopes: names,
      authenticated: z.boolean().nullish(),
    })
    .nullish(),
  error: z.string().nullish(),
});
const Raw = z.object({ uid: z.string().min(1), groups: names, scopes: names });

/** The user in the answer of a verification service, or why there is none. */
function readUser(text: string, { parser, defaultEmailDomain }: AnswerForm): User | string {
  const content = parse(text);
  if (parser === 'WRAPPED') {
    const answer = Wrapped.safeParse(content);
    if (!answer.success) return 'the verification service answered something else than a user';
    const { user, error } = answer.data;
    if (!user?.authenticated) return error ?? 'the verification service knows no such user';
    const { id, name, email, groups, scopes } = user;
    return {
      id,
      name: name ?? undefined,
      email: email ?? undefined,
      groups: groups ?? [],
      scopes: scopes ?? [],
      authenticated: true,
    };
  }
  const answer = Raw.safeParse(content);
  if (!answer.success) return 'the verification service answered something else than a user';
  const { uid, groups, scopes } = answer.data;
  const email = defaultEmailDomain === undefined ? undefined : `${uid}@${defaultEmailDomain}`;
  return { id: uid, name: uid, email, groups: groups ?? [], scopes: scopes ?? [], authenticated: true };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
