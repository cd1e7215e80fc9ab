import { Module } from '@nestjs/common';
import { DeploysModule } from '../../../../src/modules/deploys/deploys.module.js';
import { RequestsModule } from '../../../../src/modules/requests/requests.module.js';
import { SlavesModule } from '../../../../src/modules/slaves/slaves.module.js';
import { NotificationsModule } from '../../../../src/modules/users/notifications.module.js';
import { WebhooksModule } from '../../../../src/modules/webhooks/webhooks.module.js';
import { HandOver } from './hand-over.service.js';
import { HistoryCopy } from './history-copy.service.js';
import { ImportItemRepository } from './import-item.repository.js';
import { Imports } from './import.service.js';
import { ListImport } from './list-import.service.js';
import { RequestImport } from './request-import.service.js';

/** Parts of `import-from`, upon the rooms of the service. */
@Module({
  imports: [RequestsModule, DeploysModule, SlavesModule, WebhooksModule, NotificationsModule],
  providers: [Imports, RequestImport, HistoryCopy, ListImport, HandOver, ImportItemRepository],
  exports: [Imports, HandOver],
})
export class ImportModule {}
