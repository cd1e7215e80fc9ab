import { Injectable } from '@nestjs/common';
import { type Aggregator, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Buckets for the duration of calls: most take milliseconds, the slowest lists seconds. */
const secondsOfCalls = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/**
 * The figures of this process, for /metrics and /api/metrics. Any room may add some: names begin with "muster_" and end in
 * their unit, counters in "_total". `collect` is asked whenever the figures are read.
 */
@Injectable()
export class Metrics {
  /** A registry of its own, not the one that all of a process share: several instances may live in one. */
  readonly registry = new Registry();

  /** `together`: what becomes of the values of several processes of an instance, the first of which may lead. */
  gauge<Label extends string>(
    name: string,
    help: string,
    labelNames: Label[] = [],
    collect?: (gauge: Gauge<Label>) => void,
    together: Aggregator = 'sum',
  ): Gauge<Label> {
    const gauge: Gauge<Label> = new Gauge({
      name,
      help,
      labelNames,
      registers: [this.registry],
      aggregator: together,
      collect: collect && (() => collect(gauge)),
    });
    return gauge;
  }

  /** `collect`: for what is counted elsewhere; it adds up all anew. */
  counter<Label extends string>(
    name: string,
    help: string,
    labelNames: Label[] = [],
    collect?: (counter: Counter<Label>) => void,
  ): Counter<Label> {
    const counter: Counter<Label> = new Counter({
      name,
      help,
      labelNames,
      registers: [this.registry],
      collect:
        collect &&
        (() => {
          counter.reset();
          collect(counter);
        }),
    });
    return counter;
  }

  secondsOfCalls<Label extends string>(name: string, help: string, labelNames: Label[]): Histogram<Label> {
    return new Histogram({ name, help, labelNames, buckets: secondsOfCalls, registers: [this.registry] });
  }
}
