import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Agent, request } from 'undici';
import { type ComparedDeploys, fillVariables, type JudgeAnswer } from '../core/gates/index.js';
import type { DeployGate } from '../core/model/gate.js';
import { fairly } from './async.js';
import { lookUpWithin, publicTargets, refuseForeign, type TargetRules } from './guarded-lookup.js';
import { ServiceCredentials } from './service-credentials.js';
import { SETTINGS, type Settings } from './settings/settings.js';
import { Targets } from './targets.js';

/** Longest answer that is read. */
const answerBytes = 65_536;

/** Questions of one group at a time: a group whose services are slow makes no other one wait. */
const mostOfGroup = 8;

/** The place of a measurement. Of type PROMETHEUS without `uri`: the setting prometheus.uri. */
export type AskedService = Pick<DeployGate, 'type' | 'uri' | 'method' | 'query'>;

interface Question {
  uri: string;
  method: 'GET' | 'POST';
  form?: URLSearchParams;
}

/**
 * Asks the service of a gate, or of autoscaling, once: bounded in time and size, without redirects, which would lead past
 * gates.allowedTargets and carry credentials elsewhere. Whatever goes wrong is told as a problem. Not in a transaction.
 */
@Injectable()
export class ServiceAsker implements OnApplicationShutdown {
  private readonly rules: TargetRules;
  private readonly guarded: Agent;
  private readonly plain = new Agent();
  private readonly wholeMillis: number;
  private readonly prometheusUri: string | undefined;
  private readonly credentials: ServiceCredentials;

  constructor(@Inject(SETTINGS) settings: Settings) {
    const { allowedTargets } = settings.gates;
    this.rules = {
      targets: allowedTargets ? new Targets(allowedTargets) : publicTargets,
      setting: 'gates.allowedTargets',
    };
    this.guarded = new Agent({ connect: { lookup: lookUpWithin(this.rules) } });
    this.wholeMillis = settings.gates.requestTimeoutMillis;
    this.prometheusUri = settings.prometheus.uri;
    this.credentials = new ServiceCredentials(settings.gates.credentials);
  }

  /** Whether this host may be named. The address that it turns out to have is judged when it is asked. */
  mayName(host: string): boolean {
    return this.rules.targets.mayName(host);
  }

  /**
   * Work that asks, for each item: groups do not wait for each other, and nothing is begun when an answer would have had its whole time.
   * Results of items that were left out by that are undefined.
   */
  forAll<T, R>(
    items: readonly T[],
    groupOf: (item: T) => string | undefined,
    work: (item: T) => Promise<R>,
  ): Promise<(R | undefined)[]> {
    return fairly(items, { groupOf, atMost: mostOfGroup, forMillis: this.wholeMillis }, work);
  }

  /** `group`: that of the request, which credentials may be limited to. */
  async ask(service: AskedService, deploys: ComparedDeploys, group: string | undefined): Promise<JudgeAnswer> {
    const isPrometheus = service.type === 'PROMETHEUS';
    const question = isPrometheus ? this.toPrometheus(service, deploys) : toService(service, deploys);
    if (!question) return { problem: 'there is no other deploy to compare with' };
    return this.send(question, group, isPrometheus && service.uri === undefined ? undefined : this.rules);
  }

  private toPrometheus({ uri, query = '' }: AskedService, deploys: ComparedDeploys): Question | undefined {
    const base = fillVariables(uri ?? this.prometheusUri ?? '', deploys, encodeURIComponent);
    const filled = fillVariables(query, deploys);
    if (base === undefined || filled === undefined) return undefined;
    const form = new URLSearchParams({ query: filled, timeout: `${this.wholeMillis}ms` });
    return { uri: `${base.replace(/\/$/, '')}/api/v1/query`, method: 'POST', form };
  }

  /** Without `rules` the operator named the address. */
  private async send(
    { uri, method, form }: Question,
    group: string | undefined,
    rules: TargetRules | undefined,
  ): Promise<JudgeAnswer> {
    const signal = AbortSignal.timeout(this.wholeMillis);
    try {
      // The address that the credentials are chosen by is the one that is asked.
      const url = new URL(uri);
      if (rules) refuseForeign(rules, url.hostname);
      const authorization = await this.credentials.of(url, group);
      const answer = await request(url, {
        method,
        dispatcher: rules ? this.guarded : this.plain,
        signal,
        headers: {
          ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
          ...(authorization && { authorization: authorization.header }),
        },
        ...(form && { body: form.toString() }),
      });
      const body = await wholeText(answer.body);
      return { status: answer.statusCode, body: authorization ? authorization.redact(body) : body };
    } catch (cause) {
      if (signal.aborted) return { problem: `no answer within ${this.wholeMillis} ms` };
      return { problem: cause instanceof Error ? cause.message || String(cause) : String(cause) };
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.guarded.destroy(), this.plain.destroy()]);
  }
}

function toService({ uri = '', method = 'GET' }: AskedService, deploys: ComparedDeploys): Question | undefined {
  const filled = fillVariables(uri, deploys, encodeURIComponent);
  return filled === undefined ? undefined : { uri: filled, method };
}

async function wholeText(body: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body) {
    size += part.length;
    if (size > answerBytes) throw new Error(`the answer has more than ${answerBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
