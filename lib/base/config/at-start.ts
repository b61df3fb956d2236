// What of a configuration is read at start only.

import type { Config } from './types.ts'

type AtStart = Pick<Config, 'process' | 'backend' | 'mcp' | 'llm'>

/** All that `config:` makes: of it the log, the ports of operators, pools and processes are made once, and a reload keeps them. */
export function atStart({ process, backend, mcp, llm }: Config): AtStart {
  return { process, backend, mcp, llm }
}
