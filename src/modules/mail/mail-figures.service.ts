import { Injectable } from '@nestjs/common';
import { Metrics } from '../../platform/metrics/metrics.js';

/** Counts the mails that this instance has sent since its start. */
@Injectable()
export class MailFigures {
  sent = 0;
  /** Attempts that failed; the mail waits for the next one, or is given up. */
  attemptsFailed = 0;
  /** Mails given up. */
  failed = 0;

  constructor(metrics: Metrics) {
    metrics.counter('muster_mails_sent_total', 'Mails that the mail server took from this instance', [], (counter) =>
      counter.inc(this.sent),
    );
    metrics.counter(
      'muster_mail_attempts_failed_total',
      'Attempts of this instance to send a mail that failed',
      [],
      (counter) => counter.inc(this.attemptsFailed),
    );
    metrics.counter('muster_mails_given_up_total', 'Mails that this instance gave up', [], (counter) =>
      counter.inc(this.failed),
    );
  }
}
