// What of a configuration is read at start only.

import type { Config } from './config-types.ts'

type StartOnlyConfig = Pick<Config, 'process' | 'backend' | 'mcp' | 'llm'>

/** All that `config:` makes: of it the log, the ports of operators, pools and processes are made once, and a reload keeps them. */
export function selectStartOnlyConfig({ process, backend, mcp, llm }: Config): StartOnlyConfig {
  return { process, backend, mcp, llm }
}
