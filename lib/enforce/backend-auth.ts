// backendAuth: the credential a backend wants, in place of the client's.

import type { BackendAuthConfig } from '../base/config/types.ts'
import type { Policy } from '../base/types.ts'
import { appendToQuery, removeParameter, restoreCredentials } from './credential.ts'

export function backendAuth(config: BackendAuthConfig): Policy {
  return {
    kind: 'backendAuth',
    request(exchange) {
      const { request } = exchange
      if (config.kind === 'passthrough') {
        restoreCredentials(exchange)
      } else if (config.kind === 'header') {
        request.set(config.name, config.prefix + config.key.reveal())
      } else {
        removeParameter(request, config.name)
        const value = encodeURIComponent(config.key.reveal())
        appendToQuery(request, `${encodeURIComponent(config.name)}=${value}`)
      }
      return undefined
    },
  }
}
