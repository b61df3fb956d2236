// backendAuth: the credential a backend wants, in place of the client's.

import type { BackendAuthConfig } from '../base/config/types.ts'
import type { Policy } from '../base/types.ts'

export function backendAuth(config: BackendAuthConfig): Policy {
  return {
    kind: 'backendAuth',
    request(exchange) {
      const { request, credential } = exchange
      if (config.kind === 'passthrough') {
        if (credential !== null) request.set(credential.name, credential.value)
      } else if (config.kind === 'header') {
        request.set(config.name, config.prefix + config.key.reveal())
      } else {
        const parameter = `${encodeURIComponent(config.name)}=${encodeURIComponent(config.key.reveal())}`
        request.target += `${request.target.includes('?') ? '&' : '?'}${parameter}`
      }
      return undefined
    },
  }
}
