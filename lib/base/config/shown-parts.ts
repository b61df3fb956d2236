// The parts of a checked configuration as they are shown, wherever that is: by the names users write, and without secrets.

import type { WireLimits } from '../bounds/limits.ts'
import type { LimitConfig } from './limit-types.ts'
import { addressText, Showing } from './show.ts'
import type {
  AdminAddress,
  BackendConfig,
  Config,
  ListenerTls,
  ProcessConfig,
  RouteMatch,
} from './types.ts'

/** Where the interfaces beside the traffic are: the environment may say something else than the file. */
export type Addresses = Pick<ProcessConfig, 'admin' | 'stats' | 'readiness'>

type Fields = Record<string, unknown>

export class ShownParts {
  readonly showing: Showing

  constructor({ process: { sensitiveHeaders } }: Config) {
    this.showing = new Showing(sensitiveHeaders)
  }

  tls(tls: ListenerTls): Fields {
    return this.showing.fields({ ...tls })
  }

  match({ path, method, headers, query }: RouteMatch): Fields {
    return {
      path: { [path.kind === 'prefix' ? 'pathPrefix' : path.kind]: path.value },
      ...(method !== '' && { method }),
      headers: this.showing.show(headers),
      query: this.showing.show(query, 'query'),
    }
  }

  /** Where it leads to, whatever it is. */
  target(backend: BackendConfig): unknown {
    const { kind: _kind, key: _key, weight: _weight, policies: _policies, ...rest } = backend
    return this.showing.show(Object.values(rest)[0])
  }

  /** By kind; what is not set is left out. */
  policies(policies: object): Fields {
    return this.showing.fields({ ...policies })
  }

  limits(limits: readonly LimitConfig[]): Fields[] {
    return limits.map(({ name, counts, amount, most, interval, key }) =>
      this.showing.fields({ name, [counts]: amount, burst: most - amount, interval, key }),
    )
  }

  /** `config`, by the names of the file. */
  process(config: Config, { admin, stats, readiness }: Addresses): Fields {
    const { workers, terminationDeadline, logging, sensitiveHeaders } = config.process
    const { maxTracedBytes, maxWatchers, maxBytesInFlight, maxKeys, maxReaders } = config.process
    const { backend, mcp, llm } = config
    return this.showing.fields({
      file: config.file,
      workers,
      adminAddr: placeText(admin),
      statsAddr: placeText(stats),
      readinessAddr: placeText(readiness),
      logging,
      sensitiveHeaders,
      trace: { maxBodyBytes: maxTracedBytes, maxWatchers },
      maxBytesInFlight,
      rateLimit: { maxKeys },
      ui: { maxReaders },
      connectionTerminationDeadline: terminationDeadline,
      backend,
      mcp,
      llm,
    })
  }

  /** `frontendPolicies` */
  frontend(wire: WireLimits): unknown {
    const { maxHeaders, keepAliveTimeout, maxStreams, handshakeTimeout, ...http } = wire
    return this.showing.show({
      http: {
        ...http,
        http1MaxHeaders: maxHeaders,
        http1IdleTimeout: keepAliveTimeout,
        http2MaxStreams: maxStreams,
      },
      tls: { handshakeTimeout },
    })
  }
}

function placeText(address: AdminAddress): string {
  return address.kind === 'off' ? 'off' : addressText({ ...address })
}
