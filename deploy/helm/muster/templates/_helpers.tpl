{{- define "muster.name" -}}
{{- .Values.nameOverride | default .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- /* Of what belongs to no namespace. */ -}}
{{- define "muster.clusterName" -}}
{{- printf "%s-%s" .Release.Namespace (include "muster.name" .) -}}
{{- end -}}

{{- define "muster.selector" -}}
app.kubernetes.io/name: muster
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "muster.agentSelector" -}}
app.kubernetes.io/name: muster-agent
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "muster.agentSecret" -}}
{{- .Values.agent.secret.name | default (printf "%s-agents" (include "muster.name" .)) -}}
{{- end -}}

{{- /* The settings file of the agents. */ -}}
{{- define "muster.agentSettings" -}}
{{- $root := printf "%s/%s" .Values.agent.folder (include "muster.installation" .) -}}
{{- $places := dict "root" $root "port" (int .Values.agent.port) "secretFile" "/etc/muster-secret/agent" -}}
{{- $store := dict -}}
{{- with .Values.settings.objstore -}}
{{- $access := pick . "objstoreAccessKey" "objstoreSecretKey" "endpoint" "region" "usePathStyle" "groupOverrides" -}}
{{- $_ := set $store "objstore" $access -}}
{{- end -}}
{{- if .Values.logs.claim -}}
{{- $bounds := pick (.Values.settings.logFolder | default dict) "keepDays" "maxMegabytes" -}}
{{- $_ := set $store "logFolder" (merge (dict "directory" (include "muster.logDirectory" .) "group" 1000) $bounds) -}}
{{- end -}}
{{- toYaml (merge (dict "installation" (include "muster.installation" .)) $places $store .Values.agent.settings) -}}
{{- end -}}

{{- /* Where the volume of logs is in pods of schedulers and agents. */ -}}
{{- define "muster.logDirectory" -}}
/var/lib/muster-logs
{{- end -}}

{{- define "muster.databaseSecret" -}}
{{- .Values.database.secret.name | default (printf "%s-database" (include "muster.name" .)) -}}
{{- end -}}

{{- define "muster.kubernetes" -}}
{{- ((.Values.settings.cluster | default dict).kubernetes | default dict) | toJson -}}
{{- end -}}

{{- define "muster.installation" -}}
{{- (include "muster.kubernetes" . | fromJson).installation | default "muster" -}}
{{- end -}}

{{- /* Where the pods of tasks are. */ -}}
{{- define "muster.taskNamespace" -}}
{{- .Values.tasks.namespace | default .Release.Namespace -}}
{{- end -}}

{{- /* The settings file: that of the values, with the names of the service, and where the secret of the agents is. */ -}}
{{- define "muster.settings" -}}
{{- $name := include "muster.name" . -}}
{{- $inNamespace := printf "%s.%s" $name .Release.Namespace -}}
{{- $service := list $name $inNamespace (printf "%s.svc" $inNamespace) (printf "%s.svc.cluster.local" $inNamespace) -}}
{{- $given := (.Values.settings.http | default dict).allowedHosts | default list -}}
{{- $ingress := ternary (list .Values.ingress.host) list .Values.ingress.enabled -}}
{{- $added := dict "http" (dict "allowedHosts" (concat $service $ingress $given | uniq)) -}}
{{- $kubernetes := dict -}}
{{- if .Values.tasks.namespace -}}
{{- $_ := set $kubernetes "namespace" .Values.tasks.namespace -}}
{{- end -}}
{{- if .Values.agent.enabled -}}
{{- $agents := dict "secretFile" "/etc/muster-secret/agent" -}}
{{- if .Values.tasks.namespace -}}
{{- $_ := set $agents "namespace" .Release.Namespace -}}
{{- end -}}
{{- $_ := set $kubernetes "agents" $agents -}}
{{- end -}}
{{- if $kubernetes -}}
{{- $_ := set $added "cluster" (dict "kubernetes" $kubernetes) -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not (.Values.settings.ui | default dict).baseUrl) -}}
{{- $path := (.Values.settings.http | default dict).contextPath | default "" -}}
{{- $_ := set $added "ui" (dict "baseUrl" (printf "https://%s%s" .Values.ingress.host $path)) -}}
{{- end -}}
{{- if .Values.logs.claim -}}
{{- $_ := set $added "logFolder" (dict "directory" (include "muster.logDirectory" .)) -}}
{{- end -}}
{{- toYaml (mustMergeOverwrite (deepCopy .Values.settings) $added) -}}
{{- end -}}
