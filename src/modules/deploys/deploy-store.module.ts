import { Module } from '@nestjs/common';
import { DeployStore } from './deploy-store.service.js';

/** The rows of deploys, for every room that reads or moves one. */
@Module({ providers: [DeployStore], exports: [DeployStore] })
export class DeployStoreModule {}
