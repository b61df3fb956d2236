// What checked MCP backends mean.

import type { Secret } from './secret.ts'
import type { BackendAuthConfig, BackendTlsConfig } from './types.ts'
import type { TransformationsConfig } from './types.ts'
import type { HeaderModifierConfig } from '../cel/computed-headers.ts'

/** MCP servers that appear as one. */
export interface McpConfig {
  /** At least one, with different names. */
  readonly targets: readonly McpTarget[]
  readonly statefulMode: 'stateful' | 'stateless'
  readonly prefixMode: 'conditional' | 'always' | 'never'
  readonly failureMode: 'failOpen' | 'failClosed'
  /** null: on for listeners bound to loopback. */
  readonly dnsRebindingProtection: boolean | null
}

export type McpTarget = { readonly name: string } & (
  | {
      readonly kind: 'stdio'
      readonly cmd: string
      readonly args: readonly string[]
      /** May hold credentials. */
      readonly env: Readonly<Record<string, Secret>>
      readonly clearEnv: boolean
    }
  | {
      readonly kind: 'mcp' | 'sse'
      /** Without brackets. */
      readonly host: string
      readonly port: number
      readonly path: string
      /** null for plain HTTP. */
      readonly tls: BackendTlsConfig | null
      readonly auth: BackendAuthConfig | null
      readonly requestHeaderModifier: HeaderModifierConfig | null
      readonly transformations: TransformationsConfig | null
    }
)
