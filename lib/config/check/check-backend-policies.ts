// Checks TLS and credentials for backends.

import type { z } from 'zod'
import type { ConfigPath } from '../config-error.ts'
import { Secret } from '../../text/secret.ts'
import type { BACKEND_AUTH, BACKEND_TLS } from '../shape/traffic-shapes.ts'
import type { BackendAuthConfig, BackendTlsConfig } from '../config-types.ts'
import type { CheckContext } from './check-context.ts'

export function checkBackendTls(
  context: CheckContext,
  path: ConfigPath,
  shape: z.output<typeof BACKEND_TLS>,
): BackendTlsConfig {
  const read = (field: 'cert' | 'key' | 'root') =>
    shape[field] === undefined ? null : context.readFile([...path, field], shape[field])
  const cert = read('cert')
  const key = read('key')
  const root = read('root')
  if (cert !== null && key !== null) context.checkTls(path, { cert, key })
  if (root !== null) context.checkTls(path, { ca: root })
  return {
    cert,
    key: key === null ? null : new Secret(key),
    root,
    hostname: shape.hostname ?? null,
    insecure: shape.insecure,
    alpn: shape.alpn,
  }
}

/** TLS with the certificate authorities of the system. */
export const SYSTEM_TLS: BackendTlsConfig = {
  cert: null,
  key: null,
  root: null,
  hostname: null,
  insecure: false,
  alpn: ['h2', 'http/1.1'],
}

/** By default the key is sent as a bearer token. */
export function buildBackendAuth(shape: z.output<typeof BACKEND_AUTH>): BackendAuthConfig {
  const { key } = shape
  if (key === undefined) return { kind: 'passthrough' }
  if (key instanceof Secret) return buildKeyAuth(key)
  const { value, location } = key
  if (location?.queryParameter !== undefined)
    return { kind: 'query', key: value, name: location.queryParameter.name }
  const { name = 'authorization', prefix = 'Bearer ' } = location?.header ?? {}
  return { kind: 'header', key: value, name, prefix }
}

export function buildKeyAuth(key: Secret): BackendAuthConfig {
  return { kind: 'header', key, name: 'authorization', prefix: 'Bearer ' }
}
