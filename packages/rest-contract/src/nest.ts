import {
  type DynamicModule,
  Inject,
  type INestApplication,
  type InjectionToken,
  type MiddlewareConsumer,
  Module,
  type ModuleMetadata,
  type NestModule,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import type { UsableBy } from './contract/check-codecs.js';
import type { AnyContract } from './contract/types.js';
import { expressHandler } from './express.js';
import { serve } from './server/serve.js';
import type { ServeOptions, Service } from './server/types.js';

export interface MountOptions extends ServeOptions {
  /** Path in front of all operations. Nest's global prefix does not apply: name it here too. */
  readonly path?: string;
}

/**
 * Mounts a contract in a Nest application (on Express), beside its controllers. Call it between `create` and `listen`:
 * then requests arrive before Nest's body parsers, and bodies can be streamed.
 */
export function mountContract<C extends AnyContract>(
  app: Pick<INestApplication, 'use'>,
  contract: C & UsableBy<C, 'server'>,
  service: NoInfer<Service<C>>,
  { path = '', ...options }: MountOptions = {},
): void {
  app.use(expressHandler(serve(contract as never, service as never, options), { basePath: path }));
}

export interface ContractModuleOptions<C> extends MountOptions, Pick<ModuleMetadata, 'imports' | 'providers'> {
  readonly contract: C;
  /** Under which token Nest finds the implementation. */
  readonly service: InjectionToken<Service<C>>;
}

const OPTIONS = Symbol('ContractModuleOptions');

/**
 * Module that serves a contract, with an implementation that Nest injects: `imports: [ContractModule.register({
 * contract: UserApi, service: Users, providers: [Users], path: 'api' })]`. Bodies have gone through Nest's parsers: use
 * `mountContract` to stream uploads, or turn the parsers off.
 */
@Module({})
export class ContractModule implements NestModule {
  constructor(
    @Inject(OPTIONS) private readonly options: ContractModuleOptions<AnyContract>,
    @Inject(ModuleRef) private readonly modules: ModuleRef,
  ) {}

  static register<C extends AnyContract>(
    options: ContractModuleOptions<C> & { contract: UsableBy<C, 'server'> },
  ): DynamicModule {
    return {
      module: ContractModule,
      imports: options.imports ?? [],
      providers: [...(options.providers ?? []), { provide: OPTIONS, useValue: options }],
    };
  }

  configure(consumer: MiddlewareConsumer): void {
    const { contract, service, path = '', imports: _imports, providers: _providers, ...options } = this.options;
    const implementation: unknown = this.modules.get(service, { strict: false });
    const served = serve(contract as never, implementation as never, options);
    consumer.apply(expressHandler(served, { basePath: path })).forRoutes('{*path}');
  }
}
