import { Inject, Injectable } from '@nestjs/common';
import {
  abortDocument,
  disasterDocument,
  formatTime,
  mailTypes,
  noticeDocument,
  render,
  requestDocument,
  taskDocument,
  type MailDocument,
  type MailStyle,
  type RenderedMail,
} from '../../core/mail/index.js';
import { maskSecrets } from '../../core/authorization/index.js';
import type { TaskHistory } from '../../core/model/task.js';
import { resolveTimeZone } from '../../core/schedules/index.js';
import { Database } from '../../platform/database/database.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { TaskHistoryRepository } from '../history/task-history.repository.js';
import { RequestRepository } from '../requests/request.repository.js';
import { LogTails } from './log-tails.service.js';
import type { QueuedMail } from './mail-queue.repository.js';

/** Writes mails: reads what they need and puts it into words. */
@Injectable()
export class MailWriter {
  private readonly style: MailStyle;
  private readonly secrets: Parameters<typeof maskSecrets>[1];

  constructor(
    private readonly db: Database,
    private readonly requests: RequestRepository,
    private readonly tasks: TaskHistoryRepository,
    private readonly tails: LogTails,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    const { smtp, ui, auth } = settings;
    const zone = resolveTimeZone(smtp?.mailerTimeZone ?? 'UTC') ?? 'UTC';
    const page = /^https?:/.test(ui.baseUrl) ? `${ui.baseUrl.replace(/\/+$/, '')}/${ui.path}` : undefined;
    this.style = {
      product: 'Muster',
      uiBase: smtp?.uiBaseUrl ?? page,
      time: (at) => formatTime(at, smtp?.mailerDatePattern ?? 'MMM dd h:mm:ss a zzz', zone),
    };
    this.secrets = { hiddenEnvironment: 'ALL', secretEnvNames: auth.secretEnvNames };
  }

  /** undefined: what it tells of is gone, and so is the reason to tell. */
  async write(mail: QueuedMail): Promise<RenderedMail | undefined> {
    const document = await this.document(mail);
    return document && render({ ...document, subject: this.prefixed(document.subject) }, this.style);
  }

  private prefixed(subject: string): string {
    const prefix = this.settings.smtp?.subjectPrefix;
    return prefix === undefined ? subject : `${prefix.trimEnd()} ${subject}`;
  }

  private async document(mail: QueuedMail): Promise<MailDocument | undefined> {
    const { facts, type, requestId = '', user, at } = mail;
    const { colour } = mailTypes[type];
    if (mail.stage === 'NOTICE') {
      const rules = this.settings.smtp!;
      const until = at + rules.rateLimitCooldownMillis;
      return noticeDocument({ type, colour, requestId, rules, until }, this.style);
    }
    switch (facts.kind) {
      case 'task-ended':
      case 'task-overdue':
        return this.aboutTask(mail);
      case 'disaster':
        return disasterDocument(facts, colour, this.style);
      case 'aborting':
        return abortDocument(facts, colour, this.style);
      default:
        return requestDocument({ facts, colour, requestId, user, at }, this.style);
    }
  }

  private async aboutTask({ taskId = '', requestId = '', type, facts }: QueuedMail): Promise<MailDocument | undefined> {
    if (facts.kind !== 'task-ended' && facts.kind !== 'task-overdue') return undefined;
    const { pool } = this.db;
    const stored = await this.requests.find(pool, requestId);
    const record = stored && (await this.tasks.find(pool, taskId));
    if (!record) return undefined;
    const tails = await this.tails.read(taskId, stored.request);
    // Mails go further than the API: what it shows to few of its callers stays here.
    const history = maskSecrets(record.history, this.secrets) as TaskHistory;
    const { colour } = mailTypes[type];
    const { admins } = this.settings.smtp!;
    return taskDocument({ facts, colour, request: stored.request, history, tails, admins }, this.style);
  }
}
