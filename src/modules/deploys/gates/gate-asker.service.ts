import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Agent, request } from 'undici';
import {
  type ComparedDeploys,
  fillVariables,
  type JudgeAnswer,
  type Measured,
  measureHttp,
  measurePrometheus,
} from '../../../core/gates/index.js';
import type { DeployGate } from '../../../core/model/gate.js';
import { lookUpWithin, publicTargets, refuseForeign, type TargetRules } from '../../../platform/guarded-lookup.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { Targets } from '../../../platform/targets.js';

/** Longest answer that is read. */
const answerBytes = 65_536;

interface Question {
  uri: string;
  method: 'GET' | 'POST';
  form?: URLSearchParams;
  /** Absent: the operator named the address. */
  rules?: TargetRules;
}

/**
 * Asks the service of a gate once: bounded in time and size, without redirects, which would lead past gates.allowedTargets. Whatever goes
 * wrong is an inconclusive measurement. Not in a transaction.
 */
@Injectable()
export class GateAsker implements OnApplicationShutdown {
  private readonly rules: TargetRules;
  private readonly guarded: Agent;
  private readonly plain = new Agent();
  private readonly wholeMillis: number;
  private readonly prometheusUri: string | undefined;

  constructor(@Inject(SETTINGS) settings: Settings) {
    const { allowedTargets } = settings.gates;
    this.rules = {
      targets: allowedTargets ? new Targets(allowedTargets) : publicTargets,
      setting: 'gates.allowedTargets',
    };
    this.guarded = new Agent({ connect: { lookup: lookUpWithin(this.rules) } });
    this.wholeMillis = settings.gates.requestTimeoutMillis;
    this.prometheusUri = settings.prometheus.uri;
  }

  /** Whether a gate may name this host. The address that it turns out to have is judged when it is asked. */
  mayName(host: string): boolean {
    return this.rules.targets.mayName(host);
  }

  async measure(gate: DeployGate, deploys: ComparedDeploys): Promise<Measured> {
    const question = gate.type === 'PROMETHEUS' ? this.toPrometheus(gate, deploys) : this.toService(gate, deploys);
    const answer = question ? await this.ask(question) : { problem: 'there is no other deploy to compare with' };
    return gate.type === 'PROMETHEUS' ? measurePrometheus(gate, answer) : measureHttp(gate, answer);
  }

  private toService({ uri = '', method = 'GET' }: DeployGate, deploys: ComparedDeploys): Question | undefined {
    const filled = fillVariables(uri, deploys, encodeURIComponent);
    return filled === undefined ? undefined : { uri: filled, method, rules: this.rules };
  }

  private toPrometheus({ uri, query = '' }: DeployGate, deploys: ComparedDeploys): Question | undefined {
    const base = fillVariables(uri ?? this.prometheusUri ?? '', deploys, encodeURIComponent);
    const filled = fillVariables(query, deploys);
    if (base === undefined || filled === undefined) return undefined;
    const form = new URLSearchParams({ query: filled, timeout: `${this.wholeMillis}ms` });
    const place = `${base.replace(/\/$/, '')}/api/v1/query`;
    return { uri: place, method: 'POST', form, ...(uri !== undefined && { rules: this.rules }) };
  }

  private async ask({ uri, method, form, rules }: Question): Promise<JudgeAnswer> {
    const signal = AbortSignal.timeout(this.wholeMillis);
    try {
      if (rules) refuseForeign(rules, new URL(uri).hostname);
      const answer = await request(uri, {
        method,
        dispatcher: rules ? this.guarded : this.plain,
        signal,
        ...(form && { body: form.toString(), headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
      });
      return { status: answer.statusCode, body: await wholeText(answer.body) };
    } catch (cause) {
      if (signal.aborted) return { problem: `no answer within ${this.wholeMillis} ms` };
      return { problem: cause instanceof Error ? cause.message || String(cause) : String(cause) };
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.guarded.destroy(), this.plain.destroy()]);
  }
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
