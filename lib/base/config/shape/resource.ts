// What users write as a policy resource: a document of kind GatewayPolicy, spec.md §2.6.

import { z } from 'zod'
import { LOCAL_LIMITS } from './limits.ts'
import { text } from './parts.ts'

const targetRef = z.strictObject({
  group: z.literal('gateway.networking.k8s.io').optional().describe('May be left out'),
  kind: z.enum(['HTTPRoute', 'Gateway']).describe('A route or a gateway'),
  name: text.describe('Its name'),
})

export const RESOURCE = z
  .strictObject({
    apiVersion: z
      .string()
      .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?\/v1alpha1$/, {
        error: ({ input }) => `got '${String(input)}', expected <group>/v1alpha1`,
      })
      .describe('`gateway.dev/v1alpha1`; any group will do'),
    kind: z.literal('GatewayPolicy').describe('Tells it from a configuration'),
    // Labels and the like belong to other tools.
    metadata: z.looseObject({
      name: text.describe('Name of the resource'),
      namespace: text.default('default').describe('Namespace of it and of its targets'),
    }),
    spec: z.strictObject({
      targetRefs: z.array(targetRef).min(1).describe('What it applies to'),
      traffic: z.strictObject({ rateLimit: z.strictObject({ local: LOCAL_LIMITS }) }),
    }),
    // Written by whoever applied it elsewhere; ours is in the dump.
    status: z.unknown().optional().describe('Not read; the status is in `/config_dump`'),
  })
  .meta({ id: 'GatewayPolicy', description: 'Rate limits attached to routes and gateways by name' })

export type ResourceShape = z.output<typeof RESOURCE>
export type TargetRef = z.output<typeof targetRef>
