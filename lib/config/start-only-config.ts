// Selects the parts of a configuration that are read at start only.

import type { Config } from './config-types.ts'

type StartOnlyConfig = Pick<Config, 'process' | 'backend' | 'mcp' | 'llm'>

/** Everything from the section `config`: logging, admin ports, pools and processes do not change on a reload. */
export function selectStartOnlyConfig({ process, backend, mcp, llm }: Config): StartOnlyConfig {
  return { process, backend, mcp, llm }
}
