// What the admin interface answers, path by path.

import { configDump } from './config-dump.ts'
import type { DumpSource } from './config-dump.ts'
import { answerJson } from './server.ts'
import type { Endpoints } from './server.ts'

export function adminEndpoints(current: () => DumpSource): Endpoints {
  return {
    '/config_dump': { GET: (_request, response) => answerJson(response, configDump(current())) },
  }
}
