// What the admin interface answers, path by path.

import type { Endpoints } from '../base/endpoints.ts'
import type { Live } from '../base/live/views.ts'
import type { Log } from '../base/log/log.ts'
import type { Watch } from '../base/trace/watching.ts'
import { configDump } from './config-dump.ts'
import type { DumpSource } from './config-dump.ts'
import { loggingEndpoints } from './logging.ts'
import { memoryEndpoints } from './memory.ts'
import { pageEndpoints, quitEndpoints } from './pages.ts'
import { pprofEndpoints } from './pprof/endpoints.ts'
import type { ProfileSource } from './pprof/endpoints.ts'
import { answerJson } from './server.ts'
import { tasksEndpoints } from './tasks.ts'
import { traceEndpoints } from './trace.ts'

export interface AdminSources {
  readonly dump: () => DumpSource | Promise<DumpSource>
  readonly log: Log
  readonly live: () => Live
  readonly watch: Watch
  readonly profiles: ProfileSource
  /** Begins a graceful shutdown. */
  readonly quit: () => void
}

export function adminEndpoints(sources: AdminSources): Endpoints {
  const { dump, log, live, watch, profiles, quit } = sources
  const endpoints: Endpoints = {
    '/config_dump': {
      GET: async (_request, response) => answerJson(response, configDump(await dump())),
    },
    ...traceEndpoints(watch),
    ...loggingEndpoints(log),
    ...memoryEndpoints(live),
    ...tasksEndpoints(live),
    ...pprofEndpoints(profiles, process.platform),
    ...quitEndpoints(quit),
  }
  return { ...endpoints, ...pageEndpoints(endpoints) }
}
