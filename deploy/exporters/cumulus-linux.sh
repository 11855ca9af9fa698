# Cumulus Linux 5.11 and later on NVIDIA Spectrum, by NVUE. 10.0.0.5 is the collector, lo names the switch.
# Older releases: /etc/hsflowd.conf, see hsflowd.conf in this folder.
nv set system sflow agent interface lo
nv set system sflow collector 10.0.0.5 port 6343
nv set system sflow sampling-rate default 16384
nv set system sflow sampling-rate speed-100g 16384
nv set system sflow sampling-rate speed-200g 16384
nv set system sflow sampling-rate speed-400g 16384
nv set system sflow sampling-rate speed-800g 16384
nv set system sflow poll-interval 10
# Discarded packets too, reported by the ASIC.
nv set system sflow dropmon hw
# Samples to the CPU a second at most, and in one burst. What is above it is lost unseen: keep it above what comes.
nv set system sflow policer rate 16000
nv set system sflow policer burst 16000
nv set system sflow state enabled
nv config apply
