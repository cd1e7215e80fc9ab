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

{{- define "muster.databaseSecret" -}}
{{- .Values.database.secret.name | default (printf "%s-database" (include "muster.name" .)) -}}
{{- end -}}

{{- define "muster.kubernetes" -}}
{{- ((.Values.settings.cluster | default dict).kubernetes | default dict) | toJson -}}
{{- end -}}

{{- define "muster.installation" -}}
{{- (include "muster.kubernetes" . | fromJson).installation | default "muster" -}}
{{- end -}}

{{- /* The settings file: that of the values, with the names of the service. */ -}}
{{- define "muster.settings" -}}
{{- $name := include "muster.name" . -}}
{{- $inNamespace := printf "%s.%s" $name .Release.Namespace -}}
{{- $service := list $name $inNamespace (printf "%s.svc" $inNamespace) (printf "%s.svc.cluster.local" $inNamespace) -}}
{{- $given := (.Values.settings.http | default dict).allowedHosts | default list -}}
{{- $added := dict "http" (dict "allowedHosts" (concat $service $given | uniq)) -}}
{{- toYaml (mustMergeOverwrite (deepCopy .Values.settings) $added) -}}
{{- end -}}
