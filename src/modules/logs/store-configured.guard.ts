import { Injectable, type CanActivate } from '@nestjs/common';
import { ObjectStore } from './object-store.service.js';

/** Without an object store everything about logs is 404, whatever else may be wrong with a call. */
@Injectable()
export class StoreConfigured implements CanActivate {
  constructor(private readonly store: ObjectStore) {}

  canActivate(): boolean {
    this.store.configured();
    return true;
  }
}
