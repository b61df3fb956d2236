// What the admin interface answers, path by path.

import type { Log } from '../base/log.ts'
import { configDump } from './config-dump.ts'
import type { DumpSource } from './config-dump.ts'
import { pprofEndpoints } from './pprof/endpoints.ts'
import type { ProfileSource } from './pprof/endpoints.ts'
import { loggingEndpoints } from './logging.ts'
import { pageEndpoints, quitEndpoints } from './pages.ts'
import { answerJson } from './server.ts'
import type { Endpoints } from './server.ts'

export interface AdminSources {
  readonly dump: () => DumpSource
  readonly log: Log
  readonly profiles: ProfileSource
  /** Begins a graceful shutdown. */
  readonly quit: () => void
}

export function adminEndpoints({ dump, log, profiles, quit }: AdminSources): Endpoints {
  const endpoints: Endpoints = {
    '/config_dump': { GET: (_request, response) => answerJson(response, configDump(dump())) },
    ...loggingEndpoints(log),
    ...pprofEndpoints(profiles, process.platform),
    ...quitEndpoints(quit),
  }
  return { ...endpoints, ...pageEndpoints(endpoints) }
}
