// What users write under `ui`: which gateways serve the web page, and who may see it.

import { z } from 'zod'
import { AUTHORIZATION, BASIC_AUTH, UI_API_KEY, UI_JWT_AUTH } from './auth.ts'
import { gatewayNames, unsupported } from './parts.ts'
import { CORS, CSRF } from './traffic.ts'

export const UI = z
  .strictObject({
    gateways: gatewayNames.optional().describe('Gateways that serve it; default `default`'),
    policies: z
      .strictObject({
        cors: CORS.optional(),
        jwtAuth: UI_JWT_AUTH.optional(),
        authorization: AUTHORIZATION.optional(),
        basicAuth: BASIC_AUTH.optional(),
        apiKey: UI_API_KEY.optional(),
        csrf: CSRF.optional(),
        ...unsupported('oidc', 'extAuthz'),
      })
      .optional()
      .describe('Who may see it'),
  })
  .describe(
    'The web UI on gateways, beside the admin address: the page and what it reads, nothing that changes something',
  )
