import { Module } from '@nestjs/common';
import { RequestStoreModule } from '../requests/request-store.module.js';
import { Access } from './access/access.service.js';

/** Who may do what, for every room that asks in the middle of an operation. */
@Module({ imports: [RequestStoreModule], providers: [Access], exports: [Access] })
export class AccessModule {}
